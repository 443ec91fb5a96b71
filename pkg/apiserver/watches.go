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

// LimitWatches rejects a watch with status 429 if the user already has most open watches, because each open watch
// uses memory. The server's own watches are not limited. The context must contain the user and the RequestInfo.
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
			refused := apierrors.NewTooManyRequests(fmt.Sprintf("user %q has %d open watches; the maximum is %d (--max-watches-per-user)", who.GetName(), most, most), watchRetry)
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
	// open is the number of open watches by user.
	open map[string]int
}

// begin counts a new watch. It returns false if the user has reached the maximum.
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
