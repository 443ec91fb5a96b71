// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// Keys of the ConfigMap.
const (
	founderKey = "founder"
	tokenKey   = "token"
	clusterKey = "cluster"
	membersKey = "members"
	askPrefix  = "ask."
	addPrefix  = "added."
)

// maxMembers and maxText bound what is read.
const (
	maxMembers = 9
	maxText    = 512
)

// record is what the host cluster knows of the cluster.
type record struct {
	// founder is the replica that founds or has founded it, token what the ID of the
	// cluster is made of, and cluster that ID, 0 until it is founded.
	founder directory
	token   string
	cluster uint64
	// members are those of the cluster, learners among them.
	members []embedded.Member
	// asks are replicas that would join, and added those that were added last, by name.
	asks  map[string]ask
	added map[string]answer
	// lost is the ID of the cluster of which an administrator says that nothing is left.
	lost string
}

// isLost tells whether an administrator says so of this cluster.
func (r *record) isLost() bool { return r.cluster != 0 && r.lost == hex(r.cluster) }

// directory is that of a replica.
type directory struct{ name, id string }

// ask is what a replica without data writes.
type ask struct{ directory, address string }

// answer says as which member the directory of a replica begins.
type answer struct {
	directory string
	member    uint64
}

// member returns the one of an ID.
func (r *record) member(id uint64) (embedded.Member, bool) {
	i := slices.IndexFunc(r.members, func(m embedded.Member) bool { return m.ID == id })
	if i < 0 {
		return embedded.Member{}, false
	}
	return r.members[i], true
}

func hex(id uint64) string { return strconv.FormatUint(id, 16) }

// encode is the data of the ConfigMap.
func (r *record) encode() map[string]string {
	data := map[string]string{}
	if r.founder.name != "" {
		data[founderKey] = r.founder.name + " " + r.founder.id
	}
	if r.token != "" {
		data[tokenKey] = r.token
	}
	if r.cluster != 0 {
		data[clusterKey] = hex(r.cluster)
	}
	lines := make([]string, 0, len(r.members))
	for _, m := range r.members {
		line := hex(m.ID) + " " + m.Name + " " + m.Address
		if m.Learner {
			line += " learner"
		}
		lines = append(lines, line+"\n")
	}
	if len(lines) > 0 {
		slices.Sort(lines)
		data[membersKey] = strings.Join(lines, "")
	}
	for name, a := range r.asks {
		data[askPrefix+name] = a.directory + " " + a.address
	}
	for name, a := range r.added {
		data[addPrefix+name] = a.directory + " " + hex(a.member)
	}
	return data
}

// decode reads the data of a ConfigMap. An ask that is not what a replica writes is left out: one
// of them must not stop all the others, and who wrote it asks again.
func decode(data map[string]string) (*record, error) {
	r := &record{token: data[tokenKey], asks: map[string]ask{}, added: map[string]answer{}}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		var err error
		text := data[key]
		words := strings.Fields(text)
		name, asks := strings.CutPrefix(key, askPrefix)
		if asks && (len(words) != 2 || len(text) > maxText) {
			continue
		}
		if key != membersKey && len(text) > maxText {
			return nil, fmt.Errorf("%s: %d characters, at most %d are allowed", key, len(text), maxText)
		}
		added, adds := strings.CutPrefix(key, addPrefix)
		switch {
		case key == founderKey && len(words) == 2:
			r.founder = directory{words[0], words[1]}
		case key == clusterKey && len(words) == 1:
			r.cluster, err = strconv.ParseUint(words[0], 16, 64)
		case key == membersKey:
			r.members, err = decodeMembers(text)
		case asks:
			r.asks[name] = ask{words[0], words[1]}
		case adds && len(words) == 2:
			a := answer{directory: words[0]}
			a.member, err = strconv.ParseUint(words[1], 16, 64)
			r.added[added] = a
		case key == tokenKey:
		default:
			err = fmt.Errorf("%q is not what the server writes", text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return r, nil
}

func decodeMembers(text string) (all []embedded.Member, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > maxMembers {
		return nil, fmt.Errorf("%d members, at most %d are allowed", len(lines), maxMembers)
	}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) != 3 && (len(words) != 4 || words[3] != "learner") {
			return nil, fmt.Errorf("%q is not ID, name and address", line)
		}
		m := embedded.Member{Name: words[1], Address: words[2], Learner: len(words) == 4}
		if m.ID, err = strconv.ParseUint(words[0], 16, 64); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, m)
	}
	return all, nil
}
