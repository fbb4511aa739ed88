// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type originsKey struct{}

// WithOrigins makes that ReportOrigin calls the function, for each object that a chart yields.
func WithOrigins(ctx context.Context, report func(object client.Object, file string)) context.Context {
	return context.WithValue(ctx, originsKey{}, report)
}

// ReportOrigin says which file of the chart an object comes from, if somebody wants to know.
func ReportOrigin(ctx context.Context, object client.Object, file string) {
	if report, ok := ctx.Value(originsKey{}).(func(client.Object, string)); ok {
		report(object, file)
	}
}
