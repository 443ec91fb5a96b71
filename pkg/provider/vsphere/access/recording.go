// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	slipwaysession "github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// RecordingFormat is the version of the Recording format.
const RecordingFormat = 1

// Recording contains vCenter's responses to the product's reads, for attachment to a bug report.
// Names, addresses and IDs are replaced; see replacer.
type Recording struct {
	// Format is the version of the format.
	Format int `json:"slipwayRecording"`
	// Version, Build and APIVersion are vCenter's versions.
	Version    string `json:"version"`
	Build      string `json:"build"`
	APIVersion string `json:"apiVersion"`
	// WithoutDRS is the number of clusters for which DRS is not enabled.
	WithoutDRS int `json:"withoutDRS"`
	// MissingPrivileges lists the missing privileges, each with the kind of object.
	MissingPrivileges []string `json:"lacks"`
	// Properties are the responses for a sample of objects, including the faults of missing
	// properties.
	Properties []types.ObjectContent `json:"properties"`
	// Tasks are recent tasks with their faults, without inputs and results.
	Tasks []types.TaskInfo `json:"tasks"`
}

// maxRecorded limits the number of objects per kind, and the number of tasks.
const maxRecorded = 20

// recordedPaths returns the properties that affect the product's decisions, by kind of object.
func recordedPaths() map[string][]string {
	return map[string][]string{
		"VirtualMachine": {
			"name", "parent", "resourcePool", "config", "runtime", "guest", "guestHeartbeatStatus", "rootSnapshot", "snapshot", "summary", "layoutEx",
		},
		"HostSystem":             {"name", "runtime.connectionState", "runtime.inMaintenanceMode", "summary.hardware", "summary.quickStats", "datastore", "network"},
		"ClusterComputeResource": {"name", "host", "datastore", "network", "summary", "configurationEx"},
		"ResourcePool":           {"owner", "runtime", "summary"},
		"Datastore":              {"summary", "capability"},
	}
}

// Record reads a sample of the objects that are visible to the account of s. r is the report of a
// previous Check.
func Record(ctx context.Context, s *slipwaysession.Session, r *Report) (*Recording, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	about := c.ServiceContent.About
	out := &Recording{
		Format: RecordingFormat, Version: about.Version, Build: about.Build, APIVersion: about.ApiVersion,
		WithoutDRS: len(r.WithoutDRS),
	}
	for _, o := range r.Objects {
		for _, p := range o.Missing {
			out.MissingPrivileges = append(out.MissingPrivileges, o.Kind+": "+p)
		}
	}
	for kind, paths := range recordedPaths() {
		content, err := sample(ctx, c, kind, paths)
		if err != nil {
			return nil, fmt.Errorf("recording objects of kind %s: %w", kind, err)
		}
		out.Properties = append(out.Properties, content...)
	}
	out.Tasks, err = recentTasks(ctx, c)
	return out, err
}

// sample reads up to maxRecorded objects of a kind.
func sample(ctx context.Context, c *vim25.Client, kind string, paths []string) ([]types.ObjectContent, error) {
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{kind}, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	refs, err := v.Find(ctx, []string{kind}, nil)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	filter := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: kind, PathSet: paths}}}
	for _, ref := range refs[:min(len(refs), maxRecorded)] {
		filter.ObjectSet = append(filter.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	res, err := methods.RetrieveProperties(ctx, c, &types.RetrieveProperties{This: c.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{filter}})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

func recentTasks(ctx context.Context, c *vim25.Client) ([]types.TaskInfo, error) {
	var manager mo.TaskManager
	collector := property.DefaultCollector(c)
	if err := collector.RetrieveOne(ctx, *c.ServiceContent.TaskManager, []string{"recentTask"}, &manager); err != nil {
		return nil, fmt.Errorf("listing the recent tasks: %w", err)
	}
	var out []types.TaskInfo
	for _, ref := range manager.RecentTask[max(0, len(manager.RecentTask)-maxRecorded):] {
		var task mo.Task
		if err := collector.RetrieveOne(ctx, ref, []string{"info"}, &task); err != nil {
			continue // vCenter has discarded the task.
		}
		task.Info.Result, task.Info.Reason = nil, &types.TaskReasonSystem{}
		out = append(out, task.Info)
	}
	return out, nil
}

// Write writes the recording and replaces everything that identifies the installation.
func (r *Recording) Write(w io.Writer) error {
	var b bytes.Buffer
	if err := types.NewJSONEncoder(&b).Encode(r); err != nil {
		return fmt.Errorf("encoding the recording: %w", err)
	}
	var tree any
	d := json.NewDecoder(&b)
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return fmt.Errorf("encoding the recording: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(newReplacer().replaceValue("", tree))
}

// ReadRecording reads a recording that Write has written.
func ReadRecording(in io.Reader) (*Recording, error) {
	var r Recording
	if err := types.NewJSONDecoder(in).Decode(&r); err != nil {
		return nil, fmt.Errorf("decoding a recording: %w", err)
	}
	if r.Format != RecordingFormat {
		return nil, fmt.Errorf("unsupported recording format %d: must be %d", r.Format, RecordingFormat)
	}
	return &r, nil
}
