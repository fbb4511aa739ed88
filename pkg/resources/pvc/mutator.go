// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pvc

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// SetStorageRequest records, as an edit of the spec, how much storage the claim requests. The API server only allows
// larger requests for a bound claim.
func (m *Mutator) SetStorageRequest(quantity resource.Quantity) {
	quantity = quantity.DeepCopy()
	m.EditPVCSpec(handlers.Infallible(func(e *editors.PVCSpecEditor) { e.SetStorageRequest(quantity) }))
}
