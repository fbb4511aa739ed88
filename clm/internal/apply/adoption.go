// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Lasting returns what lasts of the policies that were given for an operation. To take objects from their owners is agreed to once: if they are handed over
// afterwards, neither a rollback nor a repair takes them again. Records of earlier versions have what was given.
func Lasting(policies reconciler.Policies) reconciler.Policies {
	if annotations.Kebab(string(policies.Adoption)) == types.AdoptionPolicyAlways {
		policies.Adoption = types.AdoptionPolicyIfUnowned
	}
	return policies
}

// policies are those with which the revision of a plan is applied.
func (p *Plan) policies() reconciler.Policies {
	policies := Lasting(p.Revision.Policies)
	if p.adoption != "" {
		policies.Adoption = p.adoption
	}
	return policies
}
