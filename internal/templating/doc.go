// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package templating renders text/template templates with one set of functions, which kustomizations and parameter
// templates share.
//
// A [Set] holds parsed templates. It is parsed once and rendered any number of times, concurrently if need be; each rendering
// goes through a [Renderer] of its own, which binds the functions that depend on the occasion (what they are is up to
// the caller). [Lookup] provides functions that read from a cluster.
//
// # Rules
//
// A key that is missing in a map is nil, and nil is rendered as nothing. (The other way to say it is the option
// missingkey=zero of text/template, without its output "<no value>".)
//
// The functions are those of sprig, except env and expandenv, since the environment of an operator holds its credentials, and
// getHostByName, which would look into its network; and those of this package, which win. They work on any data; what changes a map in place (set, unset, merge and the
// like) changes the data of the caller, who therefore hands in a copy.
//
// # Limits
//
// A template cannot be interrupted, so it is limited: text that exists at the same time, by MaxOutput; calls of include
// and tpl within one another, by MaxDepth; and the length of what one function call generates. A violation is an
// error that names the template.
package templating
