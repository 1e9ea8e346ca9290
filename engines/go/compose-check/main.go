// compose-check loads compose files as docker compose does, with the loader that it uses itself: schema, interpolation,
// override files, profiles. It prints the resolved project as JSON. It starts nothing and asks no engine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
)

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func run(envFiles, profiles, files []string) error {
	options, err := cli.NewProjectOptions(files,
		// Variables come from the given files alone: what the caller happens to have set must not hide a missing one.
		cli.WithEnvFiles(envFiles...),
		cli.WithDotEnv,
		cli.WithProfiles(profiles),
		cli.WithConsistency(true),
		cli.WithResolvedPaths(true),
	)
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

func main() {
	var envFiles, profiles list
	flag.Var(&envFiles, "env-file", "a file of variables, repeatable")
	flag.Var(&profiles, "profile", "a profile to turn on, repeatable; * for all")
	flag.Parse()
	if err := run(envFiles, profiles, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
