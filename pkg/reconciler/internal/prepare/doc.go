// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package prepare turns the objects of a request into desired objects: normalised manifests with their digest, policies
// and stage. It knows the kinds that the engine treats specially, their order, and the types that an object defines. It
// asks the cluster only which types are served.
package prepare
