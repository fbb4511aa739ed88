// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package report collects what a call has to tell, while dependents are worked upon side by side.
package report
