// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	slipwaysession "github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Object is an object that privileges are needed on.
type Object struct {
	// Zone that names it, empty if the flags do.
	Zone string
	// Kind of the object, Root or one of a survey.
	Kind string
	// Name is its inventory path or name.
	Name string
	// Missing are the privileges that the account lacks.
	Missing []string
	// Err is why it could not be found or asked about; nil if it was.
	Err error
}

// Report is the outcome of a check.
type Report struct {
	// Version of vCenter for people, APIVersion that of its API.
	Version, APIVersion string
	// TooOld is true when the API is older than MinAPIVersion.
	TooOld bool
	// Skew is how far the clock of vCenter is ahead of that of this host.
	Skew time.Duration
	// Account that was checked.
	Account string
	// Objects in the order of their kinds.
	Objects []Object
	// Features that can be done without.
	Features []FeatureReport
	// WithoutDRS are the clusters for which DRS is not enabled, WithoutDRSErr is why that could
	// not be read.
	WithoutDRS    []string
	WithoutDRSErr error
}

// title names the object.
func (o *Object) title() string {
	title := o.Kind + " " + o.Name
	if o.Zone != "" {
		return "zone " + o.Zone + ": " + title
	}
	return title
}

// OK is true when nothing is missing but for features: which of them are used, the flags
// do not say.
func (r *Report) OK() bool {
	return !r.TooOld && !slices.ContainsFunc(r.Objects, func(o Object) bool { return o.Err != nil || len(o.Missing) > 0 })
}

// Print writes one line for each finding.
func (r *Report) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s, API %s, as %s", r.Version, r.APIVersion, r.Account)
	if r.TooOld {
		line("vCenter is too old to deploy images of content libraries: its API must be at least %s", MinAPIVersion)
	}
	if warning := slipwaysession.SkewWarning(r.Skew); warning != "" {
		line("warning: %s", warning)
	}
	for _, o := range r.Objects {
		switch {
		case o.Err != nil && o.Zone != "":
			line("%s: %v", o.title(), o.Err)
		case o.Err != nil:
			line("%s: %v", o.Kind, o.Err)
		case len(o.Missing) == 0:
			line("%s: ok", o.title())
		}
		for _, p := range o.Missing {
			line("%s: missing privilege %s", o.title(), p)
		}
	}
	for _, name := range r.WithoutDRS {
		line("cluster %s: DRS is not enabled: Slipway names a connected host for each VM that it creates from a content library or by fast deploy; "+
			"not available there: placement by DRS rating, balancing of hosts, affinity rules, resource pools other than that of the cluster", name)
	}
	if r.WithoutDRSErr != nil {
		line("clusters without DRS: %v", r.WithoutDRSErr)
	}
	for i := range r.Features {
		for _, l := range r.Features[i].lines() {
			line("%s", l)
		}
	}
}

// checker asks one vCenter.
type checker struct {
	session *slipwaysession.Session
	places  *placement.Resolver
	client  *vim25.Client
	// key of the session.
	key string
	// found are the objects to ask about.
	found []placement.Surveyed
}

// Check looks for the places, of the flags or if there are zones of these, and asks for the
// privileges on each of them. An error means that vCenter could not be asked at all.
func Check(ctx context.Context, s *slipwaysession.Session, places *placement.Resolver, zones ...*placement.Resolver) (*Report, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.LoginREST(ctx); err != nil {
		return nil, err
	}
	me, err := userSession(ctx, c)
	if err != nil {
		return nil, err
	}
	skew, err := s.MeasureSkew(ctx)
	if err != nil {
		return nil, err
	}
	about := c.ServiceContent.About
	r := &Report{
		Version: about.FullName, APIVersion: about.ApiVersion, Account: me.UserName, Skew: skew,
		TooOld: slipwaysession.Older(about.ApiVersion, MinAPIVersion),
	}
	ask := &checker{session: s, places: places, client: c, key: me.Key}
	ask.found = []placement.Surveyed{{What: Root, Path: "/", Ref: c.ServiceContent.RootFolder}}
	for _, zone := range zones {
		ask.found = append(ask.found, zone.SurveyZone(ctx)...)
	}
	if len(zones) == 0 {
		ask.found = append(ask.found, places.Survey(ctx)...)
	}
	for _, at := range ask.found {
		o := Object{Zone: at.Zone, Kind: at.What, Name: at.Path, Err: at.Err}
		if o.Err == nil && len(Required[at.What]) > 0 {
			o.Missing, o.Err = ask.lacking(ctx, at.Ref, Required[at.What])
		}
		r.Objects = append(r.Objects, o)
	}
	if len(zones) == 0 {
		zones = []*placement.Resolver{places}
	}
	for _, zone := range zones {
		r.addClusters(ctx, zone)
	}
	for i := range Features {
		r.Features = append(r.Features, ask.checkFeature(ctx, &Features[i]))
	}
	return r, nil
}

// addClusters adds the clusters of a zone for which DRS is not enabled.
func (r *Report) addClusters(ctx context.Context, zone *placement.Resolver) {
	names, err := zone.WithoutDRS(ctx)
	var unusable *placement.NotUsableError
	if !errors.As(err, &unusable) { // It is reported with the resource pools.
		r.WithoutDRSErr = errors.Join(r.WithoutDRSErr, err)
	}
	for _, name := range names {
		if !slices.Contains(r.WithoutDRS, name) {
			r.WithoutDRS = append(r.WithoutDRS, name)
		}
	}
}

// userSession is the session by which c is logged in.
func userSession(ctx context.Context, c *vim25.Client) (*types.UserSession, error) {
	me, err := session.NewManager(c).UserSession(ctx)
	if err == nil && me == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the session with vCenter: %w", err)
	}
	return me, nil
}

// lacking are the privileges that the session does not have on the object.
func (c *checker) lacking(ctx context.Context, ref types.ManagedObjectReference, ids []string) ([]string, error) {
	var each []string
	for _, id := range ids {
		each = append(each, strings.Split(id, Or)...)
	}
	res, err := methods.HasPrivilegeOnEntities(ctx, c.client, &types.HasPrivilegeOnEntities{
		This: *c.client.ServiceContent.AuthorizationManager, Entity: []types.ManagedObjectReference{ref}, SessionId: c.key, PrivId: each,
	})
	if err != nil {
		return nil, fmt.Errorf("asking for the privileges on %s: %w", ref.Value, err)
	}
	has := map[string]bool{}
	for _, e := range res.Returnval {
		for _, p := range e.PrivAvailability {
			has[p.PrivId] = p.IsGranted
		}
	}
	var missing []string
	for _, id := range ids {
		if !granted(id, has) {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
