// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// History returns the sets of a deployment among others of the kind in its namespace, the newest first.
func History(deployment v1alpha1.Deployment, sets []v1alpha1.Set) []v1alpha1.Set {
	return revisionsOf(deployment, sets).All()
}

// RollbackTarget returns the set among others that a deployment is rolled back to if spec.rollbackTo has the revision.
// 0 stands for the latest set before the current one that has succeeded. The error says which revisions are allowed.
func RollbackTarget(deployment v1alpha1.Deployment, sets []v1alpha1.Set, revision int64) (v1alpha1.Set, error) {
	return revisionsOf(deployment, sets).RollbackTarget(revision)
}
