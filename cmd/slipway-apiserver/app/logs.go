// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"slices"

	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	_ "github.com/slipway-dev/slipway/pkg/store/etcdlog" // otherwise the etcd client logs JSON
)

// applyLogs applies the logging flags, once per process. At every level, request and response bodies are withheld
// because they can contain Secrets and tokens.
func applyLogs(o *logs.Options) error {
	if err := logsapi.ValidateAndApply(o, nil); err != nil {
		return err
	}
	sink := klog.Background().GetSink()
	options := []klog.LoggerOption{klog.ContextualLogger(true)}
	if w, ok := sink.(textlogger.KlogBufferWriter); ok {
		options = append(options, klog.WriteKlogBuffer(w.WriteKlogBuffer))
	}
	klog.SetLoggerWithOptions(withoutBodies(sink), options...)
	return nil
}

// withoutBodies returns a logger that withholds bodies and writes to sink.
func withoutBodies(sink klog.LogSink) klog.Logger {
	// One frame more lies between the caller and sink.
	if s, ok := sink.(callDepthSink); ok {
		sink = s.WithCallDepth(1)
	}
	return klog.New(bodyless{sink})
}

// bodyless is a sink that withholds the bodies that client-go logs at level 8 and above.
type bodyless struct{ sink klog.LogSink }

// callDepthSink is a sink that can skip frames when it determines the source of a log line.
type callDepthSink interface {
	WithCallDepth(depth int) klog.LogSink
}

// Init does nothing because the original logger initialized the sink.
func (bodyless) Init(klog.RuntimeInfo) {}

// Enabled implements klog.LogSink.
func (s bodyless) Enabled(level int) bool { return s.sink.Enabled(level) }

// Info implements klog.LogSink.
func (s bodyless) Info(level int, msg string, keysAndValues ...any) {
	if msg == "Request Body" || msg == "Response Body" {
		keysAndValues = slices.Clone(keysAndValues)
		for i := 1; i < len(keysAndValues); i += 2 {
			if keysAndValues[i-1] == "body" {
				keysAndValues[i] = "withheld"
			}
		}
	}
	s.sink.Info(level, msg, keysAndValues...)
}

// Error implements klog.LogSink.
func (s bodyless) Error(err error, msg string, keysAndValues ...any) {
	s.sink.Error(err, msg, keysAndValues...)
}

// WithValues implements klog.LogSink.
func (s bodyless) WithValues(keysAndValues ...any) klog.LogSink {
	return bodyless{s.sink.WithValues(keysAndValues...)}
}

// WithName implements klog.LogSink.
func (s bodyless) WithName(name string) klog.LogSink { return bodyless{s.sink.WithName(name)} }

// WithCallDepth implements callDepthSink, for wrappers around loggers.
func (s bodyless) WithCallDepth(depth int) klog.LogSink {
	if inner, ok := s.sink.(callDepthSink); ok {
		return bodyless{inner.WithCallDepth(depth)}
	}
	return s
}
