// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helmhooks expresses Helm's hooks, and its resource policy, in the annotations of a reconciler. It is pure. Package
// github.com/component-operator/runtime/pkg/manifests/helm documents what each of Helm's annotations becomes.
package helmhooks
