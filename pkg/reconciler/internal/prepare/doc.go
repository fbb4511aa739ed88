// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package prepare turns the objects of a request into desired objects: normalized manifests with their digest, policies
// and stage. It defines the special treatment and the order of certain kinds, and finds the types that an object
// defines. It queries the cluster only for the served types.
package prepare
