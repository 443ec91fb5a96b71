// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

func TestReporter_LogsALostStreamOncePerInterval(t *testing.T) {
	var lines []string
	logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	var r reporter
	began := time.Unix(1_700_000_000, 0)
	refused := soap.WrapVimFault(&types.InvalidLogin{})
	for _, step := range []struct {
		after time.Duration
		err   error // nil after a full read
		want  string
	}{
		{0, nil, ""},
		{1 * time.Second, io.EOF, "Lost the stream"},
		{2 * time.Second, errors.Join(errors.New("from another port"), io.EOF), ""},
		{3 * time.Second, refused, "Lost the stream"},
		{13 * time.Second, refused, ""},
		{9 * time.Minute, refused, ""},
		{11 * time.Minute, refused, "Lost the stream"},
		{12 * time.Minute, refused, ""},
		{13 * time.Minute, nil, "Rebuilt the stream"},
		{14 * time.Minute, nil, ""},
		{15 * time.Minute, refused, "Lost the stream"},
	} {
		lines = nil
		if step.err != nil {
			r.lost(logger, step.err, time.Second, began.Add(step.after))
		} else {
			r.rebuilt(logger)
		}
		if got := strings.Join(lines, "|"); (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("after %s with %v: log %q, want %q", step.after, step.err, got, step.want)
		}
	}
}
