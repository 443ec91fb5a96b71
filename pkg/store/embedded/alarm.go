// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// alarmed are the IDs of the members that have said that etcd's limit was reached. As long as
// there is one all members refuse writes, over restarts, and also when it is gone.
func (s *Server) alarmed() []uint64 {
	var ids []uint64
	for _, a := range s.etcd.Server.Alarms() {
		if a.GetAlarm() == pb.AlarmType_NOSPACE {
			ids = append(ids, a.GetMemberID())
		}
	}
	return ids
}

// names are those of the other ones of the members, separated by commas.
func (s *Server) names(ids []uint64) string {
	var names []string
	for _, m := range s.Members() {
		if m.ID != s.ID() && slices.Contains(ids, m.ID) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

// disarm ends the alarms that no member with too little room stands behind: of this one, and,
// when it leads, of those that are no members any more or that do not answer. One of these that
// is full still says so again at the first write that it is told of.
func (s *Server) disarm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	for _, id := range s.alarmed() {
		if id != s.ID() && (!s.Leads() || s.present(ctx, id)) {
			continue
		}
		_, err := s.etcd.Server.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: id, Alarm: pb.AlarmType_NOSPACE})
		if err != nil {
			return fmt.Errorf("disarming the alarm of the member %x of embedded etcd: %w", id, err)
		}
	}
	return nil
}

// present tells whether another one is a member, and answers.
func (s *Server) present(ctx context.Context, id uint64) bool {
	members := s.Members()
	i := slices.IndexFunc(members, func(m Member) bool { return m.ID == id })
	return i >= 0 && s.peer != nil && len(s.peer.Missing(ctx, members[i:i+1])) == 0
}
