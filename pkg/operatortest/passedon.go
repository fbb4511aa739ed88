// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/requests"
)

// passedOn records the rights that the operator hands out: the rules of the roles that it writes. Its zero value is ready for use.
type passedOn struct {
	mu     sync.Mutex
	rights []grant
}

func (p *passedOn) all() []grant {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.rights)
}

// wrap returns a transport that reads roles on their way to the API server. Its type is that of rest.Config.Wrap.
func (p *passedOn) wrap(next http.RoundTripper) http.RoundTripper {
	return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
		described := requests.New(request.Method, request.URL)
		isRole := described.Group == rbacv1.GroupName && strings.HasSuffix(described.Resource, "roles")
		if !isRole || request.Body == nil {
			return next.RoundTrip(request)
		}
		content, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, fmt.Errorf("reading the body of a request: %w", err)
		}
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(content))
		response, err := next.RoundTrip(request)
		role := &rbacv1.ClusterRole{} // a Role has the same fields
		if err == nil && response.StatusCode < http.StatusBadRequest && yaml.Unmarshal(content, role) == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.rights = append(p.rights, grantsIn(role.Rules, described.Namespace)...)
		}
		return response, err
	})
}
