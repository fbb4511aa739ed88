// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package templating renders text/template templates with the functions that kustomizations and parameter
// templates share.
//
// A [Set] contains parsed templates. It is parsed once and rendered any number of times, also concurrently. Each
// rendering has its own [Renderer], to which the caller binds its own functions. [Lookup] provides functions that read
// from a cluster.
//
// # Rules
//
// A missing key of a map is nil, and nil renders as nothing (like the option
// missingkey=zero of text/template, but without its output "<no value>").
//
// The functions are those of sprig and those of this package, which win. env and expandenv are missing because the
// operator's environment contains its credentials, getHostByName because it would expose the operator's network.
// Functions that change a map in place (set, unset, merge and the like) change the data of the caller, who must
// therefore pass a copy.
//
// # Limits
//
// A template cannot be interrupted, so there are limits: MaxOutput for the text that exists at the same time, MaxDepth
// for nested calls of include and tpl, and a length for what one function call generates. A violation is an error that
// names the template.
package templating
