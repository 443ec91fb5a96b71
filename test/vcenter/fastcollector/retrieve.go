// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fastcollector

import (
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// page is the rest of a retrieval that is answered in parts.
type page struct {
	size    int
	objects []types.ObjectContent
}

// RetrievePropertiesEx reads like the simulator's method, and returns only the parts that the session's account may
// see.
func (c *Collector) RetrievePropertiesEx(ctx *simulator.Context, req *types.RetrievePropertiesEx) soap.HasFault {
	whole := *req
	whole.Options.MaxObjects = 0
	named := map[types.ManagedObjectReference]bool{}
	whole.SpecSet = slices.Clone(req.SpecSet)
	for i := range whole.SpecSet {
		spec := &whole.SpecSet[i]
		for _, o := range spec.ObjectSet {
			named[o.Obj] = true
			if exists(ctx, o.Obj) {
				continue
			}
			if !isTrue(spec.ReportMissingObjectsInResults) {
				return &methods.RetrievePropertiesExBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: o.Obj})}
			}
			spec.ObjectSet = slices.DeleteFunc(slices.Clone(spec.ObjectSet), func(s types.ObjectSpec) bool { return s.Obj == o.Obj })
		}
	}
	res := c.PropertyCollector.RetrievePropertiesEx(ctx, &whole)
	body, ok := res.(*methods.RetrievePropertiesExBody)
	if !ok || body.Res == nil || body.Res.Returnval == nil || ctx.Session == nil {
		return res
	}
	found := body.Res.Returnval
	hub := hubOf(ctx)
	if hub != nil {
		// An object that the request lists is returned with its missing set. Objects of a list are omitted.
		found.Objects = slices.DeleteFunc(found.Objects, func(o types.ObjectContent) bool {
			return !named[o.Obj] && !hub.sight.Sees(ctx.Session.UserName, o.Obj)
		})
		for i := range found.Objects {
			hub.sight.Mask(ctx.Session.UserName, &found.Objects[i])
		}
	}
	found.Objects, found.Token = c.turn(page{size: int(req.Options.MaxObjects), objects: found.Objects})
	return body
}

// RetrieveProperties is RetrievePropertiesEx without options.
func (c *Collector) RetrieveProperties(ctx *simulator.Context, req *types.RetrieveProperties) soap.HasFault {
	body := &methods.RetrievePropertiesBody{}
	res, ok := c.RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{This: req.This, SpecSet: req.SpecSet}).(*methods.RetrievePropertiesExBody)
	switch {
	case !ok:
		body.Fault_ = simulator.Fault("", &types.NotSupported{})
	case res.Fault_ != nil:
		body.Fault_ = res.Fault_
	default:
		body.Res = &types.RetrievePropertiesResponse{}
		if res.Res.Returnval != nil {
			body.Res.Returnval = res.Res.Returnval.Objects
		}
	}
	return body
}

// ContinueRetrievePropertiesEx answers with the next part.
func (c *Collector) ContinueRetrievePropertiesEx(_ *simulator.Context, req *types.ContinueRetrievePropertiesEx) soap.HasFault {
	body := &methods.ContinueRetrievePropertiesExBody{}
	c.pagesMu.Lock()
	left, ok := c.pages[req.Token]
	delete(c.pages, req.Token)
	c.pagesMu.Unlock()
	if !ok {
		body.Fault_ = simulator.Fault("", &types.InvalidPropertyFault{Name: "token"})
		return body
	}
	body.Res = &types.ContinueRetrievePropertiesExResponse{}
	body.Res.Returnval.Objects, body.Res.Returnval.Token = c.turn(left)
	return body
}

// turn takes one part off, and keeps the rest under the returned token.
func (c *Collector) turn(p page) ([]types.ObjectContent, string) {
	if p.size <= 0 || len(p.objects) <= p.size {
		return p.objects, ""
	}
	token := uuid.NewString()
	c.pagesMu.Lock()
	defer c.pagesMu.Unlock()
	if c.pages == nil {
		c.pages = map[string]page{}
	}
	c.pages[token] = page{size: p.size, objects: p.objects[p.size:]}
	return p.objects[:p.size], token
}

// exists returns false for an object that vCenter has dropped.
func exists(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	hub := hubOf(ctx)
	return hub == nil || hub.sight.Exists(ref)
}

// sees reports whether the account of the session gets the object in lists.
func sees(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	hub := hubOf(ctx)
	return hub == nil || hub.sight.Sees(ctx.Session.UserName, ref)
}
