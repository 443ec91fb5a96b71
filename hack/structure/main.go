// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command structure prints figures about the structure of the code: the largest types, how the most important calls
// visit files, and the imports that go upward.
//
// With -from it follows the calls of one function through the files of some packages and prints the number of visits
// of each file. It follows calls in the order of the source and each function once. It also lists the files of one
// package that call each other.
//
//	go run ./hack/structure -from '(*…/pkg/provider/engine.Engine).CreateOrUpdateVirtualMachineAsync' \
//	    -as '…/driver.Driver=*…/vsphere.Driver' -as '…/driver.Machine=…/vsphere.machine' ./pkg/provider/...
//
// "…" is replaced by the module path. Function literals and tables of functions count where they are written. -as
// specifies the type for calls of an interface; calls of other interfaces are not followed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
)

// driverAs are the types that implement the interfaces of a driver.
var driverAs = map[string]string{
	full("…/pkg/provider/engine/driver.Driver"):  full("*…/pkg/provider/vsphere.Driver"),
	full("…/pkg/provider/engine/driver.Machine"): full("…/pkg/provider/vsphere.machine"),
}

// paths are the calls in the report, with the packages that count.
var paths = []struct {
	name, from string
	as         map[string]string
	packages   []string
}{
	{"reconcile of a VirtualMachine", "(*…/pkg/controller/vm.reconciler).Reconcile", nil, []string{"./pkg/controller/vm/..."}},
	{"provider request", "(*…/pkg/provider/engine.Engine).CreateOrUpdateVirtualMachineAsync", driverAs, []string{"./pkg/provider/..."}},
	{"reconcile of a Machine", "(*…/pkg/controller/cluster/machine.reconciler).Reconcile", nil, []string{"./pkg/controller/cluster/machine/..."}},
}

func main() {
	from := flag.String("from", "", "first `function`, in the format of go/types")
	as := map[string]string{}
	flag.Func("as", "`interface=type`: type that is used for calls of an interface", func(s string) error {
		face, concrete, ok := strings.Cut(full(s), "=")
		as[face] = concrete
		if !ok {
			return errors.New("must be interface=type")
		}
		return nil
	})
	flag.Parse()
	err := report()
	if *from != "" {
		err = followOne(full(*from), as, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func followOne(from string, as map[string]string, packages []string) error {
	p := &program{functions: map[string]*function{}, as: as}
	if err := p.load(packages); err != nil {
		return err
	}
	p.report(from)
	p.reportCycles()
	return nil
}

// report prints all figures.
func report() error {
	if err := reportTypes(os.Stdout); err != nil {
		return err
	}
	fmt.Println("\n| calls of | functions | visits | files |\n|---|---:|---:|---:|")
	for _, path := range paths {
		p := &program{functions: map[string]*function{}, as: maps.Clone(path.as)}
		if err := p.load(path.packages); err != nil {
			return err
		}
		way := p.follow(full(path.from))
		if way.functions == 0 {
			return fmt.Errorf("function %s not found", path.from)
		}
		fmt.Printf("| %s | %d | %d | %d |\n", path.name, way.functions, way.visits, len(way.entered))
	}
	return reportImports(os.Stdout)
}
