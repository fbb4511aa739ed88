// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rolebinding

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// check returns what is wrong with a RoleBinding, beyond its metadata.
func check(binding *rbacv1.RoleBinding) error { return handlers.CheckRoleRef(binding.RoleRef) }
