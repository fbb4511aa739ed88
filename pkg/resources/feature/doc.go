// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package feature decides which mutations of a resource apply, by the version of what is deployed and by conditions.
package feature
