// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package handlers

import (
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
)

// CheckRoleRef returns an error that names the empty fields of the reference from a binding to its role; nil if none is
// empty.
func CheckRoleRef(ref rbacv1.RoleRef) error {
	var problems []error
	if ref.APIGroup == "" {
		problems = append(problems, errors.New("roleRef.apiGroup must not be empty; set it to "+rbacv1.GroupName))
	}
	if ref.Kind == "" {
		problems = append(problems, errors.New("roleRef.kind must not be empty"))
	}
	if ref.Name == "" {
		problems = append(problems, errors.New("roleRef.name must not be empty"))
	}
	return errors.Join(problems...)
}
