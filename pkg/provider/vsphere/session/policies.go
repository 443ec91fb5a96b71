// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	"github.com/vmware/govmomi/pbm/types"
)

// PolicyClient returns a client of vCenter's storage policy service (SPBM). The client uses the SOAP
// session, and its calls count towards Options.MaxCalls.
func (s *Session) PolicyClient(ctx context.Context) (*pbm.Client, error) {
	vim, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	client := s.soap.NewServiceClient(pbm.Path, pbm.Namespace)
	client.Transport = statusTransport{s.soap.DefaultTransport()}
	client.Cookie = vim.SessionCookie
	calls := &transport{s: s, next: client, ownVersion: true}

	s.mu.Lock()
	content, of, number := s.policyContent, s.policyLogin, s.loginCount
	s.mu.Unlock()
	if content == nil || of != number {
		res, err := methods.PbmRetrieveServiceContent(ctx, calls, &types.PbmRetrieveServiceContent{This: pbm.ServiceInstance})
		if err != nil {
			return nil, fmt.Errorf("connecting to the storage policy service of vCenter %s: %w", s.url.Host, err)
		}
		content = &res.Returnval
		s.mu.Lock()
		s.policyContent, s.policyLogin = content, number
		s.mu.Unlock()
	}
	return &pbm.Client{Client: client, ServiceContent: *content, RoundTripper: calls}, nil
}
