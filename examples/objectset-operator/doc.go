// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command objectset-operator reconciles ObjectSets and ObjectDeployments, and their cluster-scoped forms. Its chart
// installs it with the rights to do that; its installation decides which objects sets may have: see the README of
// the chart.
package main
