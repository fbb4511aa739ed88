// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"embed"
	"io/fs"
)

// embedded are what scaffolded projects are made of.
//
// Each folder is a layer of the project: common is part of all projects, the others depend on the options. A file's path,
// without the suffix .tmpl, is its path in the project; __version__ and __kind__ stand for a version of the API and the
// kind in lower case. A path with __version__ makes a file for each version. The content is a Go template with the
// delimiters [[ and ]], because most files have templates of their own. A file that consists of white space only is left
// out.
//
// parts.tmpl of a layer defines what files of other layers include. The layer code is what the generators go and resources
// share.
//
//go:embed all:templates
var embedded embed.FS

// layersFS returns the layers.
func layersFS() fs.FS {
	layers, _ := fs.Sub(embedded, "templates") // it fails for invalid paths only
	return layers
}
