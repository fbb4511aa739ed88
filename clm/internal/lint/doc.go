// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package lint examines the sources of a release: charts with the linter of Helm, and rendered objects with the API server, by the dry runs of a plan. It changes
// nothing.
package lint
