// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/venv"
)

// What this package believes of cuda.h is compiled as assertions against the
// header itself, of each version.
func TestABI(t *testing.T) {
	cc := compiler(t)
	headers := venv.CUDAHeaders(t)
	for i, header := range headers {
		text, err := os.ReadFile(header)
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(`#define CUDA_VERSION (\d+)`).FindSubmatch(text)
		if version == nil {
			t.Fatalf("%s has no version", header)
		}
		words := map[string]bool{}
		for _, word := range regexp.MustCompile(`\bCU[A-Z0-9_]+\b`).FindAll(text, -1) {
			words[string(word)] = true
		}
		// Only the newest header has to know everything.
		known := func(name string) bool { return i == 0 || words[name] }
		t.Run(string(version[1]), func(t *testing.T) {
			asserts := append(constantAsserts(t, known), structAsserts()...)
			asserts = append(asserts, prototypeAsserts()...)
			if len(asserts) < 250 {
				t.Errorf("only %d assertions", len(asserts))
			}
			if out := assert(t, cc, header, asserts); out != "" {
				t.Errorf("cuda.h differs:\n%s", out)
			}
			// And what is wrong is found.
			for _, wrong := range []string{
				"CU_EVENT_DISABLE_TIMING == 1", "sizeof(CUmemAccessDesc) == 16", "offsetof(CUDA_MEMCPY2D, dstHost) == 84",
				"__builtin_types_compatible_p(__typeof__(&cuMemFree_v2), CUresult (*)(unsigned int))",
			} {
				if out := assert(t, cc, header, []string{wrong}); !strings.Contains(out, wrong[:20]) {
					t.Errorf("%s passes: %s", wrong, out)
				}
			}
		})
	}
}

// assert compiles static assertions and returns what the compiler says.
func assert(t *testing.T, cc, header string, asserts []string) string {
	t.Helper()
	var c strings.Builder
	fmt.Fprintf(&c, "#define __CUDA_API_VERSION_INTERNAL\n#include <stddef.h>\n#include %q\n", header)
	for _, a := range asserts {
		fmt.Fprintf(&c, "_Static_assert(%s, %q);\n", a, a)
	}
	file := filepath.Join(t.TempDir(), "abi.c")
	if err := os.WriteFile(file, []byte(c.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(cc, "-std=c11", "-fsyntax-only", "-w", file).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

// constantAsserts takes the constants, with the names that C has for them, from
// the sources: none can be left out.
func constantAsserts(t *testing.T, known func(string) bool) []string {
	t.Helper()
	var asserts []string
	for _, name := range []string{"constants.go", "result.go"} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		info := types.Info{Defs: map[*ast.Ident]types.Object{}}
		config := types.Config{Error: func(error) {}} // of what is not in the file, which constants do not need
		_, _ = config.Check("driver", fset, []*ast.File{file}, &info)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			c, ok := info.Defs[spec.Names[0]].(*types.Const)
			if !ok || spec.Names[0].Name == "missing" {
				return true
			}
			inC := strings.TrimSpace(spec.Comment.Text())
			if !regexp.MustCompile(`^CU[A-Z0-9_]+$`).MatchString(inC) {
				t.Errorf("%s: %s names no constant of C", name, c.Name())
				return true
			}
			value, exact := constant.Int64Val(c.Val())
			if !exact {
				t.Errorf("%s: %s has no value", name, c.Name())
			}
			if known(inC) {
				asserts = append(asserts, fmt.Sprintf("%s == %d", inC, value))
			}
			return true
		})
	}
	for code, name := range names {
		if known(name) {
			asserts = append(asserts, fmt.Sprintf("%s == %d", name, code))
		}
	}
	return asserts
}

func structAsserts() []string {
	var asserts []string
	for name, v := range map[string]any{
		"CUresult": Result(0), "CUdevice": int32(0), "CUdeviceptr": Ptr(0), "CUstream": Stream(0), "CUevent": Event(0), "CUcontext": uintptr(0),
		"CUmemGenericAllocationHandle": Handle(0), "CUuuid": UUID{}, "size_t": uintptr(0),
		"CUmemLocation": memLoc{}, "CUmemAllocationProp": allocationProp{}, "CUmemAccessDesc": accessDesc{}, "CUDA_MEMCPY2D": memcpy2D{},
	} {
		typ := reflect.TypeOf(v)
		asserts = append(asserts, fmt.Sprintf("sizeof(%s) == %d", name, typ.Size()))
		if typ.Kind() != reflect.Struct {
			continue
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			inC := f.Tag.Get("c")
			asserts = append(
				asserts,
				fmt.Sprintf("offsetof(%s, %s) == %d", name, inC, f.Offset),
				fmt.Sprintf("sizeof(((%s *)0)->%s) == %d", name, inC, f.Type.Size()),
			)
		}
	}
	return asserts
}

func prototypeAsserts() []string {
	var asserts []string
	for _, f := range functions {
		asserts = append(asserts, fmt.Sprintf("__builtin_types_compatible_p(__typeof__(&%s), CUresult (*)(%s))", f.name, f.params))
	}
	return asserts
}

// Every call in the sources gives as many arguments as the prototype has, and an
// address where that has a pointer. Every function is called.
func TestCallsMatchPrototypes(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]symbol{}
	called := map[symbol]bool{}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		if name == "symbols.go" {
			ast.Inspect(file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "fn") {
					numbers[spec.Names[0].Name] = symbol(len(numbers))
				}
				return true
			})
		}
	}
	if len(numbers) != len(functions) {
		t.Fatalf("%d numbers for %d functions", len(numbers), len(functions))
	}
	for goName, s := range numbers {
		plain := strings.TrimPrefix(strings.Replace(functions[s].name, "_v2", "2", 1), "cu")
		if !strings.EqualFold(goName, "fn"+plain) {
			t.Errorf("%s stands for %s", goName, functions[s].name)
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			place := 0
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if ok && selector.Sel.Name == "with" {
				place = 1
			}
			id, isName := call.Args[place].(*ast.Ident)
			if !ok || !isName || selector.Sel.Name == "claim" {
				return true
			}
			s, isNumber := numbers[id.Name]
			if !isNumber {
				return true
			}
			called[s] = true
			var params []string
			if list := functions[s].params; list != "void" {
				params = strings.Split(list, ", ")
			}
			args := call.Args[place+1:]
			if len(params) != len(args) {
				t.Errorf("%s: %s gets %d arguments, not %d", fset.Position(call.Pos()), id.Name, len(args), len(params))
				return true
			}
			for i, param := range params {
				address := isAddress(args[i])
				pointer := strings.HasSuffix(param, "*") && !(s == fnMemImportFromShareableHandle && i == 1) // a descriptor
				if address != pointer {
					t.Errorf("%s: argument %d of %s.%s is an address: %t, for %s", fset.Position(call.Pos()), i, selector.Sel.Name, id.Name, address, param)
				}
			}
			return true
		})
	}
	for goName, s := range numbers {
		// The two for UUIDs are called through a variable.
		if !called[s] && !strings.HasPrefix(goName, "fnDeviceGetUUID") {
			t.Errorf("%s is never called", goName)
		}
	}
}

// isAddress reports whether an argument is dl.Address(…).
func isAddress(arg ast.Expr) bool {
	call, ok := arg.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Address"
}
