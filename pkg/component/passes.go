// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"sync"

	apitypes "k8s.io/apimachinery/pkg/types"
)

// passes makes sure that passes of one component do not overlap. The controller does so anyway, but Reconcile is public.
// The zero value is ready for use.
type passes struct {
	mu     sync.Mutex
	active map[apitypes.NamespacedName]*activePass
}

type activePass struct {
	sync.Mutex
	users int
}

// begin waits until no other pass of the component is under way. The returned function ends the pass.
func (p *passes) begin(key apitypes.NamespacedName) (end func()) {
	p.mu.Lock()
	pass := p.active[key]
	if pass == nil {
		if p.active == nil {
			p.active = map[apitypes.NamespacedName]*activePass{}
		}
		pass = &activePass{}
		p.active[key] = pass
	}
	pass.users++
	p.mu.Unlock()
	pass.Lock()
	return func() {
		pass.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if pass.users--; pass.users == 0 {
			delete(p.active, key)
		}
	}
}
