// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// etcd says the same of every slow request. In each logInterval the first logFirst of
// one message are logged.
const (
	logInterval = time.Second
	logFirst    = 3
)

// logCore passes etcd's warnings and errors on to a logger of ours: a disk that is slow
// or full shows there first.
type logCore struct {
	logger klog.Logger
	phase  *phase
}

// phase is where in its life a member is. While it starts it warns of how we set it
// up, and while it stops it reports the sockets that this shuts as errors.
type phase struct{ serving, closing atomic.Bool }

// worth is true for what somebody should read.
func (p *phase) worth(l zapcore.Level) bool {
	switch {
	case l >= zapcore.DPanicLevel:
		return true
	case p.closing.Load():
		return false
	case l >= zapcore.ErrorLevel:
		return true
	default:
		return p.serving.Load()
	}
}

// newLogger returns what etcd logs with.
func newLogger(logger klog.Logger, p *phase) *zap.Logger {
	core := logCore{logger: logger, phase: p}
	return zap.New(zapcore.NewSamplerWithOptions(core, logInterval, logFirst, 0))
}

// Enabled implements zapcore.Core.
func (c logCore) Enabled(l zapcore.Level) bool { return l >= zapcore.WarnLevel }

// With implements zapcore.Core.
func (c logCore) With(fields []zapcore.Field) zapcore.Core {
	c.logger = c.logger.WithValues(values(fields)...)
	return c
}

// Check implements zapcore.Core.
func (c logCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write implements zapcore.Core.
func (c logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	switch {
	case !c.phase.worth(e.Level) || newborn(fields):
	case e.Level == zapcore.WarnLevel:
		c.logger.Info("Warning of etcd: "+e.Message, values(fields)...)
	default:
		c.logger.Error(nil, "Error of etcd: "+e.Message, values(fields)...)
	}
	return nil
}

// newborn is true for what etcd says of a database in which nobody has written yet, when it
// looks for its version; it looks again every few seconds.
func newborn(fields []zapcore.Field) bool {
	return slices.ContainsFunc(fields, func(f zapcore.Field) bool {
		err, ok := f.Interface.(error)
		return ok && strings.Contains(err.Error(), "missing term information")
	})
}

// Sync implements zapcore.Core.
func (logCore) Sync() error { return nil }

// values are fields in the order in which they were given.
func values(fields []zapcore.Field) []any {
	out := make([]any, 0, 2*len(fields))
	for _, f := range fields {
		m := zapcore.NewMapObjectEncoder()
		f.AddTo(m)
		for k, v := range m.Fields {
			out = append(out, k, v)
		}
	}
	return out
}
