// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// parseModes reads the modes of -fast-deploy.
func parseModes(text string) ([]vmv1alpha1.FastDeployMode, error) {
	var modes []vmv1alpha1.FastDeployMode
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		mode := vmv1alpha1.FastDeployMode(field)
		if !slices.Contains(vmv1alpha1.FastDeployModes, mode) {
			return nil, fmt.Errorf("-fast-deploy: %q: must be off, direct or linked", field)
		}
		modes = append(modes, mode)
	}
	return modes, nil
}

// fastDeploy measures a burst of each size in each mode. The copies of the image exist before, and disks are not
// promoted.
func (e *environment) fastDeploy(ctx context.Context) error {
	// The simulated datastore has the space of TMPDIR, and the first burst uses all of it.
	const room = 1 << 50
	for _, order := range []string{
		fmt.Sprintf("/datastores/free?datastore=LocalDS_0&bytes=%d", int64(room)),
		fmt.Sprintf("/datastores/disksize?bytes=%d", e.settings.diskSize), fmt.Sprintf("/datastores/rate?bytes=%d", e.settings.copyRate),
	} {
		if _, err := e.control(ctx, http.MethodPut, order); err != nil {
			return err
		}
	}
	for _, n := range e.settings.bursts {
		var all []burst
		for _, mode := range e.settings.modes {
			e.made = func(vm *vmv1alpha1.VirtualMachine) {
				vm.Annotations = map[string]string{vmv1alpha1.AnnotationFastDeploy: string(mode)}
				vm.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled
			}
			if _, err := e.burst(ctx, fmt.Sprintf("copies-%s-%d", mode, n), 1); err != nil {
				return err
			}
			b, err := e.burst(ctx, fmt.Sprintf("fast-%s-%d", mode, n), n)
			if err != nil {
				return err
			}
			all = append(all, b)
		}
		e.made = nil
		printModes(e.settings.modes, all)
		printBursts(all)
	}
	return nil
}

// printModes prints the mode of each column of the following table.
func printModes(modes []vmv1alpha1.FastDeployMode, all []burst) {
	header, bytes := []string{"fast deploy"}, []string{"bytes copied on datastores, each"}
	for i, mode := range modes {
		header = append(header, string(mode))
		bytes = append(bytes, fmt.Sprintf("%.0f", all[i].spent.copied/float64(all[i].machines)))
	}
	table(header...)
	row(bytes...)
}

// copied returns how many bytes were copied on datastores so far.
func (e *environment) copied(ctx context.Context) (float64, error) {
	answer, err := e.control(ctx, http.MethodGet, "/datastores/copied")
	if err != nil {
		return 0, err
	}
	var counted struct{ Bytes float64 }
	if err := json.Unmarshal(answer, &counted); err != nil {
		return 0, fmt.Errorf("reading how much was copied: %w", err)
	}
	return counted.Bytes, nil
}
