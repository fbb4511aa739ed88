// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

var _ component.Component = &ParcelService{}

// GetSpec returns the values for the chart.
func (s *ParcelService) GetSpec() types.Unstructurable {
	return &s.Spec
}

// GetStatus returns the part of the component that the reconciler writes.
func (s *ParcelService) GetStatus() *component.Status {
	return &s.Status
}

// ToUnstructured returns the values of the chart: the spec without the fields for the reconciler.
func (s *ParcelServiceSpec) ToUnstructured() map[string]any {
	routes := make([]any, len(s.Routes))
	for i, route := range s.Routes {
		routes[i] = route.values()
	}
	return map[string]any{
		"region":   s.Region,
		"host":     s.Host,
		"api":      s.API.values(),
		"database": s.Database.values(),
		"routes":   routes,
	}
}

// values omits fields that are not set, so that the defaults of the chart apply.
func (s *WorkloadSpec) values() map[string]any {
	values := map[string]any{}
	if s.Replicas > 0 {
		values["replicas"] = int64(s.Replicas)
	}
	image := map[string]any{}
	setUnlessEmpty(image, "repository", s.Image.Repository)
	setUnlessEmpty(image, "tag", s.Image.Tag)
	setUnlessEmpty(image, "pullPolicy", s.Image.PullPolicy)
	setUnlessEmpty(image, "pullSecret", s.Image.PullSecret)
	values["image"] = image
	return values
}

func (s *DatabaseSpec) values() map[string]any {
	values := map[string]any{}
	if s.PasswordSecretRef != nil {
		values["password"] = string(s.PasswordSecretRef.Value())
	}
	return values
}

func (s *RouteSpec) values() map[string]any {
	stops := make([]any, len(s.Stops))
	for i, stop := range s.Stops {
		stops[i] = stop
	}
	return map[string]any{"name": s.Name, "stops": stops}
}

func setUnlessEmpty(values map[string]any, key, value string) {
	if value != "" {
		values[key] = value
	}
}
