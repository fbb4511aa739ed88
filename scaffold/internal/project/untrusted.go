// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// repositories are the names, in lower case, of files and folders in which version control systems find commands that
// they run, such as hooks and file system monitors. git~1 is what Windows calls .git, too. Files such as .gitattributes
// and .gitmodules are not among them: in a folder of a repository, they can only choose among commands that the user
// has configured.
var repositories = []string{".bzr", ".git", ".hg", ".jj", ".pijul", ".sl", ".svn", "_darcs", "git~1"}

// checkRepositories refuses what a version control system takes for a repository, also on file systems that ignore
// case, or blanks at the end of a name.
func (c *Contents) checkRepositories() error {
	refuse := func(name string) error {
		return fmt.Errorf("%s: a repository of a version control system cannot be in a project, because commands of that system run what it configures; "+
			"leave it out (a chart can do so by .helmignore)", name)
	}
	exists := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		for name := name; name != "."; name = path.Dir(name) {
			exists[strings.ToLower(name)] = true
			if slices.Contains(repositories, strings.ToLower(strings.TrimRight(path.Base(name), " "))) {
				return refuse(name)
			}
		}
	}
	// To git, a folder with such files is a bare repository, whatever its name.
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		folder, base := path.Split(strings.ToLower(name))
		if base == "head" && (exists[folder+"commondir"] || exists[folder+"objects"] && exists[folder+"refs"]) {
			return refuse(path.Dir(name))
		}
	}
	return nil
}

// openFolder opens an untrusted folder. Links that leave it are not followed.
func openFolder(name string) (*os.Root, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return root, nil
}

// explain adds the folder to an error, and says what links may do if it is about one.
func explain(root *os.Root, err error) error {
	if err == nil {
		return nil
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		if info, statErr := root.Lstat(failed.Path); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("reading %s: %s: a symbolic link must be relative, and lead to something in this folder: %w", root.Name(), failed.Path, failed.Err)
		}
	}
	return fmt.Errorf("reading %s: %w", root.Name(), err)
}
