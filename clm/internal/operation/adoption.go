// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Lasting returns the policies to be recorded, from those that were given for an operation. The consent to take objects
// from other owners is valid once: if the objects are moved afterwards, neither a rollback nor a repair takes them
// again. Records of earlier versions have the policies as given.
func Lasting(policies reconciler.Policies) reconciler.Policies {
	if annotations.Kebab(string(policies.Adoption)) == types.AdoptionPolicyAlways {
		policies.Adoption = types.AdoptionPolicyIfUnowned
	}
	return policies
}

// policiesOf returns the policies with which the revision of a plan is applied.
func policiesOf(p *Plan) reconciler.Policies {
	policies := Lasting(p.Revision.Policies)
	if p.adoption != "" {
		policies.Adoption = p.adoption
	}
	return policies
}
