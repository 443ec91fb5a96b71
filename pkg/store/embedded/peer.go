// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

const (
	// Members wait for each other over a network: a leader that is silent for a second is
	// replaced in the next one.
	peerTickMilliseconds     = 100
	peerElectionMilliseconds = 1000
	// directoryFile has the ID of a directory, which is another one when a volume was replaced.
	directoryFile = "directory-id"
	// asideDir keeps the data of a member that was removed until it has joined again.
	asideDir = memberDir + ".removed"
)

// Peer makes a member one of a cluster.
type Peer struct {
	// Name of the member, which no other one has.
	Name string
	// Address is where the others reach it, Listen where it listens: host and port each.
	Address, Listen string
	// CertFile has its certificate and key, for servers and clients, and CAFile the
	// authorities of all members. The first is read again for each connection.
	CertFile, CAFile string
	// Alone is true when no other replica is to be there. Nothing is kept then for others that
	// lag; those that come all the same get the whole data more often, until the next start.
	Alone bool
	// Plan says how to begin. The directory is this process's by then.
	Plan func(ctx context.Context, local Local) (Plan, error)
}

// Local is what a directory has.
type Local struct {
	// Directory is its ID.
	Directory string
	// Cluster and Member are the IDs of its data, 0 without any.
	Cluster, Member uint64
	// Votes is true when the database knows the member as a full one: not as one that learns or was
	// removed. Only a start looks.
	Votes bool
	// NoLog is true when there is a database and no write-ahead log: either that was lost, or
	// an attempt to join has ended early.
	NoLog bool
}

// Plan is how a member begins. The zero Plan goes on with the data that is there.
type Plan struct {
	// Token founds a cluster, whose ID follows from it.
	Token string
	// Join are all members of the cluster that has added this one, which is among them. Data
	// that is there is put aside.
	Join []Member
	// Alone makes the member that is there the only one of its cluster, and its store one that
	// was restored: it may lack what was written last.
	Alone bool
}

// Member of a cluster.
type Member struct {
	// ID never comes again.
	ID uint64
	// Name is empty before the member has begun.
	Name string
	// Address is where the others reach it, host and port.
	Address string
	// Learner is true while it does not count for a quorum.
	Learner bool
}

const peerScheme = "https"

func peerURL(address string) url.URL { return url.URL{Scheme: peerScheme, Host: address} }

// tls are the files as etcd wants them. Who has a certificate of the authority is a member,
// from whatever address.
func (p *Peer) tls() transport.TLSInfo {
	return transport.TLSInfo{CertFile: p.CertFile, KeyFile: p.CertFile, TrustedCAFile: p.CAFile, ClientCertAuth: true, SkipClientSANVerify: true}
}

// configure turns the configuration of a lone member into that of one of many.
func (p *Peer) configure(cfg *embed.Config, plan *Plan) {
	cfg.Name = p.Name
	cfg.TickMs, cfg.ElectionMs = peerTickMilliseconds, peerElectionMilliseconds
	if !p.Alone {
		cfg.SnapshotCatchUpEntries = etcdserver.DefaultSnapshotCatchUpEntries
	}
	cfg.AdvertisePeerUrls = []url.URL{peerURL(p.Address)}
	cfg.ListenPeerUrls = []url.URL{peerURL(p.Listen)}
	cfg.PeerTLSInfo = p.tls()
	members := []Member{{Name: p.Name, Address: p.Address}}
	if plan.Token != "" {
		cfg.InitialClusterToken = plan.Token
	}
	if len(plan.Join) > 0 {
		cfg.ClusterState = embed.ClusterStateFlagExisting
		members = plan.Join
	}
	all := make([]string, 0, len(members))
	for _, m := range members {
		u := peerURL(m.Address)
		all = append(all, m.Name+"="+u.String())
	}
	cfg.InitialCluster = strings.Join(all, ",")
}

// LocalOf looks at the data of a directory. It may be in use.
func LocalOf(dir string) (Local, error) {
	var l Local
	id, err := os.ReadFile(filepath.Join(dir, directoryFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return l, fmt.Errorf("reading the ID of the directory: %w", err)
	}
	l.Directory = strings.TrimSpace(string(id))
	log := filepath.Join(dir, memberDir, "member", "wal")
	if !wal.Exist(log) {
		_, err := os.Stat(databasePath(dir))
		l.NoLog = err == nil
		return l, nil
	}
	err = guard(func() error {
		snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), log)
		if err != nil {
			return err
		}
		if len(snapshots) == 0 {
			return errors.New("it does not say where it begins")
		}
		w, err := wal.OpenForRead(zap.NewNop(), log, snapshots[len(snapshots)-1])
		if err != nil {
			return err
		}
		defer func() { _ = w.Close() }()
		metadata, _, _, err := w.ReadAll()
		if err != nil {
			return err
		}
		var m etcdserverpb.Metadata
		if err := proto.Unmarshal(metadata, &m); err != nil {
			return err
		}
		l.Cluster, l.Member = m.GetClusterID(), m.GetNodeID()
		return nil
	})
	if err != nil {
		return l, damaged(dir, fmt.Sprintf("its write-ahead log does not say whose it is: %v", err))
	}
	return l, nil
}

// plan asks what to do with the directory, and prepares it for that.
func (s *Server) plan(ctx context.Context, p *Peer) (Plan, error) {
	local, err := LocalOf(s.dir)
	if err != nil {
		return Plan{}, err
	}
	local.Votes = votes(databasePath(s.dir), local.Member)
	if local.Directory == "" {
		local.Directory = uuid.NewString()
		if err := writeDurably(filepath.Join(s.dir, directoryFile), local.Directory+"\n"); err != nil {
			return Plan{}, fmt.Errorf("giving the etcd data directory an ID: %w", err)
		}
	}
	plan, err := p.Plan(ctx, local)
	if err != nil {
		return Plan{}, err
	}
	place, aside := filepath.Join(s.dir, memberDir), filepath.Join(s.dir, asideDir)
	switch {
	case len(plan.Join) == 0 && plan.Token == "":
		return plan, nil
	case local.NoLog && holds(databasePath(s.dir)):
		err = os.Rename(place, beforeDir(s.dir)) // a restore can take it
	case local.Member == 0:
		// It is what an attempt to join has left, which ended before there was a log.
		err = os.RemoveAll(place)
	default:
		// What is aside is there until the member has joined: this is of an attempt that came to nothing.
		if _, err = os.Stat(aside); err == nil {
			err = os.RemoveAll(place)
		} else {
			err = os.Rename(place, aside)
		}
	}
	if err != nil {
		return Plan{}, fmt.Errorf("making room for the data of a new member: %w", err)
	}
	return plan, nil
}
