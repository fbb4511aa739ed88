// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package address judges objects that wait for a load balancer to get an address.
package address
