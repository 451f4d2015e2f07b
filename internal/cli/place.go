// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
)

// placeFlags say where streams are looked for: in which runtime directory, and
// by which Zenoh router and in which domain ROS 2 topics.
type placeFlags struct {
	dir     *string
	file    *string
	connect *[]string
	domain  domain
	zenoh   *config.Config // of file and connect; nil: not read yet
}

func addPlaceFlags(fs *pflag.FlagSet) *placeFlags {
	p := &placeFlags{dir: dirFlag(fs), domain: -1}
	p.file = fs.String("zenoh-config", "", "Zenoh session configuration, a JSON5 `file` (default: $"+config.EnvFile+")")
	p.connect = fs.StringSlice("connect", nil, "Zenoh router or peer to reach other hosts and ROS 2 topics by, an `endpoint` (default: the configuration's, else "+client.DefaultRouter+", else whoever is found)")
	fs.Var(&p.domain, "domain", "ROS domain, a `number` (default: $"+client.EnvDomain+", else 0)")
	return p
}

// dirOption is nothing for "": the usual directories are then searched.
func dirOption(dir string) []client.Option {
	if dir == "" {
		return nil
	}
	return []client.Option{client.WithRuntimeDir(dir)}
}

// options are those of the flags, and of the environment where that has to be
// read for them. Nothing is logged, unless a logger is set behind them.
func (p *placeFlags) options() ([]client.Option, error) {
	opts := append([]client.Option{client.WithLogger(slog.New(slog.DiscardHandler))}, dirOption(*p.dir)...)
	if p.domain >= 0 {
		opts = append(opts, client.WithDomain(int(p.domain)))
	}
	for _, e := range *p.connect {
		if _, err := link.ParseEndpoint(e); err != nil {
			return nil, Usagef("--connect: %v", err)
		}
	}
	if *p.file == "" && len(*p.connect) == 0 {
		return opts, nil
	}
	if p.zenoh == nil { // a pipe can be read only once
		c, err := p.session()
		if err != nil {
			return nil, err
		}
		p.zenoh = c
	}
	return append(opts, client.WithZenoh(p.zenoh)), nil
}

// session is the configuration of Zenoh that the flags ask for.
func (p *placeFlags) session() (*config.Config, error) {
	c := config.Auto()
	getenv := os.Getenv
	if *p.file != "" {
		if err := c.LoadFile(strings.TrimPrefix(*p.file, "file://")); err != nil {
			return nil, fmt.Errorf("%w: --zenoh-config: %w", ErrConfig, err)
		}
		getenv = func(name string) string {
			if name == config.EnvOverride {
				return os.Getenv(name)
			}
			return "" // the flag goes before the files of the environment
		}
	}
	err := c.LoadEnv(getenv)
	if err == nil {
		err = c.Skipped()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := client.NameRouters(c, *p.connect); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return c, nil
}

// found are the options of commands beside, which tell what is there. Their
// errors were told when the command began.
func (p *placeFlags) found() []client.Option {
	opts, err := p.options()
	if err != nil {
		return nil
	}
	return opts
}

// domain is a flag value: a number from 0 on. Below 0 stands for the default.
type domain int

func (d *domain) String() string {
	if *d < 0 {
		return ""
	}
	return strconv.Itoa(int(*d))
}
func (d *domain) Type() string { return "number" }
func (d *domain) Set(text string) error {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return errors.New("must be a whole number from 0 on")
	}
	*d = domain(n)
	return nil
}
