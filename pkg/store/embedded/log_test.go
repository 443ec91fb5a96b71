// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

func TestLog_OmitsRepeatedMessagesOfAnIdleDatabase(t *testing.T) {
	var out strings.Builder
	logger := klog.Logger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	p := &phase{}
	p.serving.Store(true)
	etcd := newLogger(logger, p)
	young := errors.New("cannot detect storage schema version: missing term information")
	etcd.Warn("Failed to detect schema version", zap.Error(young))
	etcd.Error("failed to update storage version", zap.Error(young))
	if out.Len() > 0 {
		t.Errorf("it logs %s", out.String())
	}
	etcd.Error("failed to update storage version", zap.Error(errors.New("the disk is full")))
	if !strings.Contains(out.String(), "the disk is full") {
		t.Errorf("of a full disk it logs %q", out.String())
	}
}
