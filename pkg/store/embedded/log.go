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

// etcd logs a message for every slow request. In each logInterval, only the first logFirst lines with the same message are logged.
const (
	logInterval = time.Second
	logFirst    = 3
)

// logCore writes etcd's warnings and errors to klog. A slow or full disk is visible there first.
type logCore struct {
	logger klog.Logger
	phase  *phase
}

// phase is the phase of a member. While it starts, it warns about our configuration. While it stops, it reports the sockets that are
// closed as errors.
type phase struct{ serving, closing atomic.Bool }

// shouldLog reports whether a message is useful in the current phase.
func (p *phase) shouldLog(l zapcore.Level) bool {
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

// newLogger returns the logger for etcd.
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
	case !c.phase.shouldLog(e.Level) || isEmptyDatabase(fields):
	case e.Level == zapcore.WarnLevel:
		c.logger.Info("Warning of etcd: "+e.Message, values(fields)...)
	default:
		c.logger.Error(nil, "Error of etcd: "+e.Message, values(fields)...)
	}
	return nil
}

// isEmptyDatabase reports whether a message is about a database without any write, whose version etcd cannot detect. etcd repeats
// it every few seconds.
func isEmptyDatabase(fields []zapcore.Field) bool {
	return slices.ContainsFunc(fields, func(f zapcore.Field) bool {
		err, ok := f.Interface.(error)
		return ok && strings.Contains(err.Error(), "missing term information")
	})
}

// Sync implements zapcore.Core.
func (logCore) Sync() error { return nil }

// values returns the keys and values of fields in their order.
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
