// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdlog writes the log of etcd clients with klog. The API server library creates the
// logger of its clients while its packages are initialized, of logutil.DefaultZapLoggerConfig, and
// it would write JSON to standard error. Go initializes packages in the order of their paths,
// dependencies first, so that this package must not import one that the library's does not.
package etcdlog

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

// A client logs the same warning for every attempt. In each second the first logFirst lines with
// one message are logged.
const logFirst = 3

// scheme is the scheme of the output path for klog.
const scheme = "klog"

func init() {
	if err := zap.RegisterSink(scheme, func(*url.URL) (zap.Sink, error) { return sink{}, nil }); err != nil {
		panic(err)
	}
	config := &logutil.DefaultZapLoggerConfig
	config.OutputPaths, config.ErrorOutputPaths = []string{scheme + ":"}, []string{scheme + ":"}
	config.Sampling = &zap.SamplingConfig{Initial: logFirst}
}

// sink writes JSON lines to klog.
type sink struct{}

// Write implements zap.Sink.
func (sink) Write(line []byte) (int, error) {
	fields := map[string]any{}
	if err := json.Unmarshal(line, &fields); err != nil {
		klog.InfoS("Message of the etcd client", "text", string(line))
		return len(line), nil
	}
	var values []any
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch key {
		case "ts", "level", "logger", "caller", "msg", "stacktrace":
		default:
			values = append(values, key, fields[key])
		}
	}
	message, _ := fields["msg"].(string)
	switch fields["level"] {
	case "debug", "info":
		klog.V(4).InfoS("Message of the etcd client: "+message, values...)
	case "warn":
		klog.InfoS("Warning of the etcd client: "+message, values...)
	default:
		klog.ErrorS(nil, "Error of the etcd client: "+message, values...)
	}
	return len(line), nil
}

// Sync implements zap.Sink.
func (sink) Sync() error { return nil }

// Close implements zap.Sink.
func (sink) Close() error { return nil }
