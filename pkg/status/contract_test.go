// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/status"
)

// What follows does not compile if a signature changes that existing operators rely on. An interface that gains a
// method is not satisfied by existing operators any more.
var (
	_ func(status.Status) string         = status.Status.String
	_ func(string) status.StatusAnalyzer = status.NewStatusAnalyzer
	_ status.StatusAnalyzer              = (interface {
		ComputeStatus(object *unstructured.Unstructured) (status.Status, error)
	})(nil)
)
