// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// watchRetry is the Retry-After of a watch that is refused, in seconds.
const watchRetry = 10

// LimitWatches refuses a watch of a user who has most of them, with status 429: each takes memory as long as it
// lasts. The server itself has no limit. next must be called with the user and the RequestInfo in the context.
func LimitWatches(next http.Handler, most int, codecs runtime.NegotiatedSerializer) http.Handler {
	l := &watchLimit{most: most, open: map[string]int{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, hasInfo := request.RequestInfoFrom(r.Context())
		who, hasUser := request.UserFrom(r.Context())
		if !hasInfo || !hasUser || info.Verb != "watch" || who.GetName() == user.APIServerUser {
			next.ServeHTTP(w, r)
			return
		}
		if !l.begin(who.GetName()) {
			refused := apierrors.NewTooManyRequests(fmt.Sprintf("user %q has %d open watches, and may have %d (--max-watches-per-user)", who.GetName(), most, most), watchRetry)
			responsewriters.ErrorNegotiated(refused, codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
			return
		}
		defer l.end(who.GetName())
		next.ServeHTTP(w, r)
	})
}

// watchLimit counts the watches of users.
type watchLimit struct {
	most int

	mu sync.Mutex
	// open has the users who have watches.
	open map[string]int
}

// begin counts a watch, unless the user has the most.
func (l *watchLimit) begin(user string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[user] >= l.most {
		return false
	}
	l.open[user]++
	return true
}

func (l *watchLimit) end(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[user]--; l.open[user] == 0 {
		delete(l.open, user)
	}
}
