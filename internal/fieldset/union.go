// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Union returns the fields of both entries.
func Union(a, b metav1.ManagedFieldsEntry) (*metav1.FieldsV1, error) {
	first, err := parse(a)
	if err != nil {
		return nil, err
	}
	second, err := parse(b)
	if err != nil {
		return nil, err
	}
	raw, err := first.Union(second).ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding the fields of manager %s: %w", a.Manager, err)
	}
	return metav1.NewFieldsV1(string(raw)), nil
}
