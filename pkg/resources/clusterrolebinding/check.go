// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clusterrolebinding

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// check returns what is wrong with a ClusterRoleBinding, beyond its metadata.
func check(binding *rbacv1.ClusterRoleBinding) error { return handlers.CheckRoleRef(binding.RoleRef) }
