// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type originsKey struct{}

// WithOrigins makes ReportOrigin call the function for each object of a chart.
func WithOrigins(ctx context.Context, report func(object client.Object, file string)) context.Context {
	return context.WithValue(ctx, originsKey{}, report)
}

// ReportOrigin reports the file of an object to the function of WithOrigins, if the context has one.
func ReportOrigin(ctx context.Context, object client.Object, file string) {
	if report, ok := ctx.Value(originsKey{}).(func(client.Object, string)); ok {
		report(object, file)
	}
}
