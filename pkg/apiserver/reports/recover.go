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

// keeper tells what the VMs of one vCenter keep of their objects.
type keeper struct {
	// owned lists them by namespace and name; known is false while they, or the objects, are
	// not read.
	owned func() (all []driver.Owned, known bool)
	// record is the text of the record of one.
	record func(uniqueID string) string
	// object is that of a name, nil for none.
	object func(key types.NamespacedName) *vmv1alpha1.VirtualMachine
}

// keepers returns the keeper of each vCenter, by its host: nil for one that another replica manages.
func (c *Controllers) keepers() map[string]*keeper {
	all := map[string]*keeper{}
	for host, e := range c.Engines() {
		if all[host] = nil; e != nil {
			all[host] = c.keeperOf(e)
		}
	}
	return all
}

// keeperOf reads from e, and the objects in the cache.
func (c *Controllers) keeperOf(e *engine.Engine) *keeper {
	machines := c.Informers.Vm().V1alpha1().VirtualMachines()
	lister, synced := machines.Lister(), machines.Informer().HasSynced
	return &keeper{
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
				return nil // a cache knows of no other error
			}
			return vm
		},
	}
}

// page says which part of what is kept is asked for.
type page struct {
	namespace, name, after string
	texts                  bool
	most                   int
}

// pageOf reads the parameters of a request.
func pageOf(q url.Values) (page, error) {
	p := page{namespace: q.Get(orphans.ParamNamespace), name: q.Get(orphans.ParamName), most: orphans.MaxHeads}
	switch records := q.Get(orphans.ParamRecords); records {
	case orphans.Heads:
	case orphans.Texts:
		p.texts, p.most = true, orphans.MaxTexts
	default:
		return page{}, fmt.Errorf("%s: %q is not allowed: allowed are %s, %s", orphans.ParamRecords, records, orphans.Heads, orphans.Texts)
	}
	after, err := base64.RawURLEncoding.DecodeString(q.Get(orphans.ParamContinue))
	if err != nil {
		return page{}, fmt.Errorf("%s: it is not what the page before has said", orphans.ParamContinue)
	}
	p.after = string(after)
	return p, nil
}

// placeOf is where a VM is in the order of pages.
func placeOf(k *orphans.Kept) string {
	return strings.Join([]string{k.Namespace, k.Name, k.VCenter, k.UniqueID}, "\x00")
}

// keptReport is one page of the VMs whose objects are not as their records. It is not known without
// an answer of any vCenter.
func keptReport(all map[string]*keeper, p page) (report orphans.Report, known bool) {
	report.Orphans = []orphans.Orphan{}
	known = cover(&report, maps.Keys(all), func(host string) (why string) {
		if all[host] == nil {
			return orphansElsewhere
		}
		owned, known := all[host].owned()
		if !known {
			return orphansUnread
		}
		for i := range owned {
			if k := all[host].compare(host, &owned[i]); k != nil && p.has(k) {
				report.Kept = append(report.Kept, *k)
			}
		}
		return ""
	})
	slices.SortFunc(report.Kept, func(a, b orphans.Kept) int { return cmp.Compare(placeOf(&a), placeOf(&b)) })
	if len(report.Kept) > p.most {
		report.Kept = report.Kept[:p.most]
		report.Continue = base64.RawURLEncoding.EncodeToString([]byte(placeOf(&report.Kept[p.most-1])))
	}
	for i := range report.Kept {
		if k := &report.Kept[i]; p.texts {
			k.Record = all[k.VCenter].record(k.UniqueID)
		}
	}
	return report, known
}

// has is true for a VM that is asked for.
func (p *page) has(k *orphans.Kept) bool {
	return (p.namespace == "" || k.Namespace == p.namespace) && (p.name == "" || k.Name == p.name) && placeOf(k) > p.after
}

// compare is a VM whose object is not as its record, and nil for any other.
func (k *keeper) compare(host string, o *driver.Owned) *orphans.Kept {
	out := &orphans.Kept{
		Orphan: orphanOf(host, o), State: orphans.Missing, Recorded: o.Recorded.Generation, InstanceUUID: o.InstanceUUID, BiosUUID: o.BiosUUID,
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
			out.State = orphans.Older // and was changed since
		}
	case vmrecord.Same, vmrecord.Absent:
		return nil
	}
	return out
}
