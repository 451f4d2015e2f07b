// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"strings"
	"testing"
)

func TestJudgeDevice(t *testing.T) {
	const uuid = "GPU-6f1c2a3b-0d4e-5f60-7182-93a4b5c6d7e8"
	other := GPU{UUID: "GPU-00000000-0000-0000-0000-000000000001"}
	same := GPU{UUID: strings.ToLower(uuid)}
	vmm := []HandleKind{HandleVMM}
	for _, c := range []struct {
		name   string
		hello  Hello
		reason Reason
		words  string
	}{
		{"the same GPU, second of two", Hello{GPUs: []GPU{other, same}, Handles: vmm}, "", ""},
		{"a client of before GPUs", Hello{}, ReasonVMMUnsupported, "can import no memory"},
		{"other handles", Hello{GPUs: []GPU{same}, Handles: []HandleKind{"fabric"}}, ReasonVMMUnsupported, "only fabric"},
		{"another GPU", Hello{GPUs: []GPU{other}, Handles: vmm}, ReasonDifferentGPU, "frames are on " + uuid},
		{"no GPU", Hello{Handles: vmm}, ReasonDifferentGPU, "sees no GPU"},
		{"no driver there", Hello{Handles: vmm, GPUs: []GPU{same}, DeviceReason: ReasonNoDriver, DeviceDetail: "not\nfound"}, ReasonNoDriver, "the client: not found"},
		{"a reason that is made up", Hello{DeviceReason: "because"}, ReasonNoDriver, "the client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reason, detail := JudgeDevice(&c.hello, uuid, HandleVMM)
			if reason != c.reason || !strings.Contains(detail, c.words) {
				t.Errorf("%q, %q; want %q with %q", reason, detail, c.reason, c.words)
			}
		})
	}
}
