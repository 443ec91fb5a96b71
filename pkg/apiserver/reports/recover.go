// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// recordReader provides the object records in the VMs of one vCenter.
type recordReader struct {
	// owned lists the VMs by namespace and name. known is false if the VMs or the objects have not been read.
	owned func() (all []driver.Owned, known bool)
	// record returns the text of the record in a VM.
	record func(uniqueID string) string
	// object returns the object with the given name, or nil.
	object func(key types.NamespacedName) *vmv1alpha1.VirtualMachine
}

// recordReaders returns the keeper of each vCenter by its host. It is nil for a vCenter that another replica manages.
func (c *Controllers) recordReaders() map[string]*recordReader {
	all := map[string]*recordReader{}
	for host, e := range c.Engines() {
		if all[host] = nil; e != nil {
			all[host] = c.recordReaderOf(e)
		}
	}
	return all
}

// recordReaderOf returns a keeper that reads records from e and objects from the cache.
func (c *Controllers) recordReaderOf(e *engine.Engine) *recordReader {
	machines := c.Informers.Vm().V1alpha1().VirtualMachines()
	lister, synced := machines.Lister(), machines.Informer().HasSynced
	return &recordReader{
		owned: func() ([]driver.Owned, bool) {
			if !synced() {
				return nil, false
			}
			return e.Owned()
		},
		record: e.Record,
		object: func(key types.NamespacedName) *vmv1alpha1.VirtualMachine {
			vm, err := lister.VirtualMachines(key.Namespace).Get(key.Name)
			if err != nil {
				return nil // a lister returns no other error
			}
			return vm
		},
	}
}

// page selects a part of the records.
type page struct {
	namespace, name, after string
	texts                  bool
	limit                  int
}

// pageOf parses the parameters of a request.
func pageOf(q url.Values) (page, error) {
	p := page{namespace: q.Get(orphans.ParamNamespace), name: q.Get(orphans.ParamName), limit: orphans.MaxRecordsWithoutContent}
	switch records := q.Get(orphans.ParamRecords); records {
	case orphans.RecordsWithoutContent:
	case orphans.RecordsWithContent:
		p.texts, p.limit = true, orphans.MaxRecordsWithContent
	default:
		return page{}, fmt.Errorf("%s: unsupported value %q: supported values are %s, %s", orphans.ParamRecords, records, orphans.RecordsWithoutContent, orphans.RecordsWithContent)
	}
	after, err := base64.RawURLEncoding.DecodeString(q.Get(orphans.ParamContinue))
	if err != nil {
		return page{}, fmt.Errorf("%s: must be the value that the previous page returned", orphans.ParamContinue)
	}
	p.after = string(after)
	return p, nil
}

// sortKey returns the sort key of a VM.
func sortKey(k *orphans.RecordedVM) string {
	return strings.Join([]string{k.Namespace, k.Name, k.VCenter, k.UniqueID}, "\x00")
}

// recordReport returns one page of the VMs whose objects differ from their records. known is false if no vCenter has
// been read.
func recordReport(all map[string]*recordReader, p page) (report orphans.Report, known bool) {
	report.Orphans = []orphans.Orphan{}
	known = addCovered(&report, maps.Keys(all), func(host string) (why string) {
		if all[host] == nil {
			return orphansElsewhere
		}
		owned, known := all[host].owned()
		if !known {
			return orphansUnread
		}
		for i := range owned {
			if k := all[host].compare(host, &owned[i]); k != nil && p.includes(k) {
				report.Kept = append(report.Kept, *k)
			}
		}
		return ""
	})
	slices.SortFunc(report.Kept, func(a, b orphans.RecordedVM) int { return cmp.Compare(sortKey(&a), sortKey(&b)) })
	if len(report.Kept) > p.limit {
		report.Kept = report.Kept[:p.limit]
		report.Continue = base64.RawURLEncoding.EncodeToString([]byte(sortKey(&report.Kept[p.limit-1])))
	}
	for i := range report.Kept {
		if k := &report.Kept[i]; p.texts {
			k.Record = all[k.VCenter].record(k.UniqueID)
		}
	}
	return report, known
}

// includes reports whether the page may contain the VM.
func (p *page) includes(k *orphans.RecordedVM) bool {
	return (p.namespace == "" || k.Namespace == p.namespace) && (p.name == "" || k.Name == p.name) && sortKey(k) > p.after
}

// compare returns the state of a VM whose object differs from its record, or nil if they agree.
func (k *recordReader) compare(host string, o *driver.Owned) *orphans.RecordedVM {
	out := &orphans.RecordedVM{
		Orphan: newOrphan(host, o), State: orphans.Missing, Recorded: o.Recorded.Generation, InstanceUUID: o.InstanceUUID, BiosUUID: o.BiosUUID,
	}
	vm := k.object(o.Key)
	if vm == nil {
		return out
	}
	out.Generation = vm.Generation
	if vm.UID != o.UID {
		out.State = orphans.NameTaken
		return out
	}
	c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionBackupUpToDate)
	switch o.Recorded.Compare(vmrecord.HeadOf(vm)) {
	case vmrecord.Newer:
		out.State = orphans.Older
	case vmrecord.Older:
		if out.State = orphans.Newer; c != nil && c.Reason == vmv1alpha1.ReasonRecordNewer {
			out.State = orphans.Older // the object was changed after it was restored
		}
	case vmrecord.Same, vmrecord.Absent:
		return nil
	}
	return out
}
