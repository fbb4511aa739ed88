// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package parceloperator is an example of an operator around a Helm chart. Its component, a ParcelService, stands
// for a small product: an API with its database, a controller with a custom resource definition of its own, and
// a few instances of that. The chart shows how waves, purging, deletion orders and policies are put on objects.
//
// The program is in cmd; this package holds what it is made of, so that other programs can run it as well.
package parceloperator
