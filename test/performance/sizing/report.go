// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// result is the result for one size.
type result struct {
	machines int
	// makes and writes are numbers per second.
	makes, writes float64
	// database, heap and resident, of this server, host and collector, which are kube-apiserver
	// and kube-controller-manager, are bytes.
	database, heap, resident, host, collector float64
	ready, passes                             time.Duration
	listDirect, listThrough                   time.Duration
	writeCPU                                  time.Duration
	watched, watchedCPU                       time.Duration
}

// print writes the table with a column for each size.
func print(all []*result) {
	megabytes := func(of func(*result) float64) func(*result) string {
		return func(r *result) string { return fmt.Sprintf("%.0f MB", of(r)/1e6) }
	}
	duration := func(of func(*result) time.Duration) func(*result) string {
		return func(r *result) string { return fmt.Sprintf("%.2f s", of(r).Seconds()) }
	}
	short := func(of func(*result) time.Duration) func(*result) string {
		return func(r *result) string { return fmt.Sprintf("%.1f ms", float64(of(r).Microseconds())/1000) }
	}
	rows := []struct {
		name string
		of   func(*result) string
	}{
		{"virtual machines, each with its instance", func(r *result) string { return fmt.Sprint(r.machines) }},
		{"writes a second while they were made", func(r *result) string { return fmt.Sprintf("%.0f", r.makes) }},
		{"database after that", megabytes(func(r *result) float64 { return r.database })},
		{"restart: ready", duration(func(r *result) time.Duration { return r.ready })},
		{"restart: a pass over all", duration(func(r *result) time.Duration { return r.passes })},
		{"slipway-apiserver: heap", megabytes(func(r *result) float64 { return r.heap })},
		{"slipway-apiserver: resident without files", megabytes(func(r *result) float64 { return r.resident })},
		{"kube-apiserver: resident without files", megabytes(func(r *result) float64 { return r.host })},
		{"kube-controller-manager: resident without files", megabytes(func(r *result) float64 { return r.collector })},
		{"LIST of all, direct", duration(func(r *result) time.Duration { return r.listDirect })},
		{"LIST of all, through kube-apiserver", duration(func(r *result) time.Duration { return r.listThrough })},
		{"statuses written a second", func(r *result) string { return fmt.Sprintf("%.0f", r.writes) }},
		{"processor time of one, with its read", short(func(r *result) time.Duration { return r.writeCPU })},
		{fmt.Sprintf("change until the last of %d watchers saw it", watchers), short(func(r *result) time.Duration { return r.watched })},
		{"processor time of that", short(func(r *result) time.Duration { return r.watchedCPU })},
	}
	for i, row := range rows {
		line := "| " + row.name + " |"
		for _, r := range all {
			line += " " + row.of(r) + " |"
		}
		fmt.Println(line)
		if i == 0 {
			fmt.Println("|---|" + strings.Repeat("---:|", len(all)))
		}
	}
}
