// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package parceloperator is an example of an operator for a Helm chart. Its component, a ParcelService, is
// a small product: an API with its database, a controller with its own custom resource definition, and
// a few instances of that. The chart shows how to set waves, purging, deletion orders and policies on objects.
//
// The program is in cmd. Other programs, such as the demo, run the operator by this package.
package parceloperator
