// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package templates embeds what scaffolded projects are made of.
//
// Each folder is a layer of the project: common is part of all projects, the others depend on the options (see package
// scaffold/internal/project). A file's path, without the suffix .tmpl, is its path in the project; __version__ and __kind__ stand for a
// version of the API and the kind in lower case. A path with __version__ makes a file for each version. The content is a Go template with
// the delimiters [[ and ]], because most files have templates of their own. A file that consists of white space only is left out.
//
// parts.tmpl of a layer defines what files of other layers include. The layer code is what the generators go and resources share.
package templates

import "embed"

// FS has the layers.
//
//go:embed all:common all:code all:go all:resources all:helm all:kustomize all:webhooks all:conversion all:apache
var FS embed.FS
