#!/usr/bin/env bash
exec kubectl virt __complete "$@"
